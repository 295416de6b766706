"""Models saved with skops: only listed types are built, and their parts are checked."""
