"""Speed over time and on other machines: two revisions side by side, machine constants swept.

The experiments measure what a paper or a peer claims, and keep their numbers. What is measured here
is printed and kept nowhere, since it is only comparable within one sitting.
"""
