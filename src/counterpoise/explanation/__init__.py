"""An explanation: its question, arrays, tables, sentences and file format."""
