"""Questions asked of many rows: folders of parts, streams, files that grow."""
