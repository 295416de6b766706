"""What people see of an explanation: figures, cards, and a report."""
