"""The dialect header for HIP, and what only HIP can say."""
