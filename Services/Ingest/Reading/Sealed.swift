import JSON
import Models
import Wire

/// Checks what is sealed: base64 with padding (RFC 4648, 4), of which there is one form of the same bytes, because a repetition
/// is compared by it.
func checkSealed(_ sealed: JSONString) throws(Problem) {
    try sealed.withBytes { (bytes) throws(Problem) in
        guard bytes.count <= ContractLimits.sealedBytes else {
            throw Problem(.tooLarge, "sealed: at most \(ContractLimits.sealedBytes) characters of base64")
        }
        guard isBase64(bytes) else { throw Problem(.invalid, "sealed: must be base64 with its padding, and not empty") }
    }
}

private func isBase64(_ text: UnsafeRawBufferPointer) -> Bool {
    guard !text.isEmpty, text.count.isMultiple(of: 4) else { return false }
    let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
    // The bits of the last character that are of no byte must be 0: of one byte in two characters four, of two in three two.
    var last: UInt8 = 0
    for character in text.dropLast(padding) {
        guard let value = base64Value(of: character) else { return false }
        last = value
    }
    return last & [0, 0b11, 0b1111][padding] == 0
}

private func base64Value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
}
