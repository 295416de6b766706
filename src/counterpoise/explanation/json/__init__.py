"""A saved explanation: the document, what was asked, values and tables as plain JSON data and back."""
