"""The experiments behind the figures and tables; ``python -m experiments`` lists them."""
