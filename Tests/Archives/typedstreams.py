"""Writes typedstreams as NSArchiver does, with the parts that Messages uses."""

PART = "__kIMMessagePartAttributeName"
FILE = "__kIMFileTransferGUIDAttributeName"
NEW, NULL, END = 0x84, 0x85, 0x86
FIRST_REFERENCE = 0x92


class Writer:
    def __init__(self, big_endian: bool = False):
        self.order = "big" if big_endian else "little"
        signature = b"typedstream" if big_endian else b"streamtyped"
        self.bytes = bytearray([4, 11]) + signature + bytes(self.integer(1000))
        self.strings: dict[bytes, int] = {}
        self.items: dict[object, int] = {}
        self.count = 0

    def integer(self, number: int) -> bytes:
        if 0 <= number < 0x80 or -0x6E <= number < 0:
            return bytes([number & 0xFF])
        if -0x8000 <= number < 0x10000:
            return b"\x81" + (number & 0xFFFF).to_bytes(2, self.order)
        return b"\x82" + (number & 0xFFFFFFFF).to_bytes(4, self.order)

    def reference(self, number: int) -> bytes:
        encoded = number - 110
        if -110 <= encoded < 0x80:
            return bytes([encoded & 0xFF])
        return b"\x81" + encoded.to_bytes(2, self.order, signed=True)

    def shared(self, text: bytes):
        if text in self.strings:
            self.bytes += self.reference(self.strings[text])
        else:
            self.strings[text] = len(self.strings)
            self.bytes += bytes([NEW]) + self.integer(len(text)) + text

    def number_item(self, key: object):
        self.items[key] = self.count
        self.count += 1

    def describe(self, classes: list[tuple[bytes, int]]):
        for name, version in classes:
            if ("class", name) in self.items:
                self.bytes += self.reference(self.items["class", name])
                return
            self.bytes.append(NEW)
            self.shared(name)
            self.bytes += self.integer(version)
            self.number_item(("class", name))
        self.bytes.append(NULL)

    def begin(self, *classes: tuple[bytes, int], key: object = None) -> None:
        self.bytes.append(NEW)
        self.number_item(key or object())
        self.describe([*classes, (b"NSObject", 0)])

    def end(self):
        self.bytes.append(END)

    def string(self, text: str, mutable: bool = False):
        """After an `@`. Equal strings are the same object, as literals are."""
        if ("string", text) in self.items and not mutable:
            self.bytes += self.reference(self.items["string", text])
            return
        classes = [(b"NSMutableString", 1)] * mutable + [(b"NSString", 1)]
        self.begin(*classes, key=object() if mutable else ("string", text))
        encoded = text.encode()
        self.shared(b"+")
        self.bytes += self.integer(len(encoded)) + encoded
        self.end()

    def number(self, value: int):
        self.begin((b"NSNumber", 0), (b"NSValue", 0))
        self.shared(b"*")
        if "i" in self.items:
            self.bytes += self.reference(self.items["i"])
        else:
            self.bytes.append(NEW)
            self.shared(b"i")
            self.number_item("i")
        self.shared(b"i")
        self.bytes += self.integer(value)
        self.end()

    def dictionary(self, entries: dict[str, object]):
        self.begin((b"NSDictionary", 0))
        self.shared(b"i")
        self.bytes += self.integer(len(entries))
        for key, value in entries.items():
            self.shared(b"@")
            self.string(key)
            self.shared(b"@")
            self.value(value)
        self.end()

    def value(self, value: object):
        match value:
            case int():
                self.number(value)
            case str():
                self.string(value)
            case bytes():
                self.begin((b"NSData", 0))
                self.shared(b"i")
                self.bytes += self.integer(len(value))
                self.shared(b"[%dc]" % len(value))
                self.bytes += value
                self.end()


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def attributed(
    runs: list[tuple[str, dict[str, object]]],
    *,
    mutable: bool = False,
    big_endian: bool = False,
    text: str | None = None,
) -> bytes:
    """The attributed string of these runs. `text` replaces the whole, so that the runs do not fit."""
    writer = Writer(big_endian)
    writer.shared(b"@")
    classes = [(b"NSMutableAttributedString", 0)] * mutable + [(b"NSAttributedString", 0)]
    writer.begin(*classes)
    writer.shared(b"@")
    writer.string("".join(run for run, _ in runs) if text is None else text, mutable)
    known: list[dict[str, object]] = []
    for run, attributes in runs:
        writer.shared(b"iI")
        is_new = attributes not in known
        if is_new:
            known.append(attributes)
        writer.bytes += writer.integer(known.index(attributes) + 1) + writer.integer(units(run))
        if is_new:
            writer.shared(b"@")
            writer.dictionary(attributes)
    writer.end()
    return bytes(writer.bytes)


def body(text: str, **options) -> bytes:
    return attributed([(text, {PART: 0})], **options)
