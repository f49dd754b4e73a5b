"""The life of the data: backups, retention, erasure, and policies that replace each other."""
