"""Work on much text by many workers, disk to disk: input is cut into shards, each of which becomes
one file of output. The engine is Ray; what is done and what is left stands in the output folder
alone, so that any driver may go on with it.
"""
