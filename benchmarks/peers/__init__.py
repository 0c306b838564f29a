"""Readers of other projects, each a program that runs in an environment of its own.

A reader prints `ready` when it is imported, gets the time line on stdin (one line of JSON), and
prints one line of JSON with the figures that it gives, in the keys and units of a trace's gpu
block; `devices` is a list of the same, one for each device.
"""
