"""Answers as tables that other programs and people read: flat, wide, Markdown, Excel, importance."""
