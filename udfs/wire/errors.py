"""The one exception of the decoders: stored bytes that do not follow their format."""


class WireError(ValueError):
    """Bytes that cannot be decoded.

    `reason` is a stable snake_case code (`varint_overlong`, `length_out_of_bounds`,
    `bytes_left_over`, `unknown_version`, …); `detail` says what was stored and what was expected.
    """

    reason: str
    detail: str

    def __init__(self, reason: str, detail: str) -> None:
        # Both go to ValueError so that the error survives pickling between worker and driver.
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"
