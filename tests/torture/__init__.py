"""The torture test: kills, database faults, floods and hostile requests against running servers."""
