"""The outcome of a unit of work that went wrong, carried across a thread."""


class Failure:
    __slots__ = ("error",)

    def __init__(self, error: BaseException):
        self.error = error
