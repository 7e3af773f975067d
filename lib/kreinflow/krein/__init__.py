"""The Krein factor: a few columns of an indefinite kernel as a linear map with signs."""
