"""The constraints that users write."""
