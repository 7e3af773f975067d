"""The tables and figures of the five papers beside ours.

Nothing of the rest of the library knows of this room.
"""
