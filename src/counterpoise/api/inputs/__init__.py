"""What the user gives, read and checked: rows, targets, the reference, weights from importance."""
