"""Every fake part is interchangeable with the real part: one story, told by every combination that can exist."""
