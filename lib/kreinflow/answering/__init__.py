"""What a model says of a query. Nothing here learns."""
