"""Model files of other libraries, checked before these open them."""
