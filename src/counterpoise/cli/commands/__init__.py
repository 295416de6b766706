"""The commands, one file each: its options and the order of its work, which it imports when it runs."""
