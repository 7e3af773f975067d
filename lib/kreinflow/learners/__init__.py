"""The methods that recipes can name, and what they share."""
