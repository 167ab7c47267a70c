"""The version of this package: the one of the server that it is tested against."""

VERSION = "0.2.0"
