"""Studies: commands to run, the tables that their figures fill, and a page that shows them beside those of a
paper.
"""
