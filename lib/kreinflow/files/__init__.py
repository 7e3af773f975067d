"""Tables, arrays, checksums and logs: read, checked, and written whole or not at all."""
