import JSON
import Models
import Wire

// The application's own JSON, in profiles and messages.

extension JSONReader {
    /// An object as it is written.
    mutating func encodedObject() throws(JSONError) -> UnsafeRawBufferPointer {
        guard try kind() == .object else { throw failure(.expected("an object")) }
        return try encodedValue()
    }
}

func checkExtra(_ extra: UnsafeRawBufferPointer, atMost bytes: Int) throws(Problem) {
    guard extra.count <= bytes else { throw Problem(.tooLarge, "extra: at most \(bytes) bytes") }
    guard depth(of: extra) <= ContractLimits.extraDepth else {
        throw Problem(.tooLarge, "extra: at most \(ContractLimits.extraDepth) levels")
    }
}

/// The same JSON on one line, because a line of an export has it: without the white space between its parts.
func compact(_ json: UnsafeRawBufferPointer) -> [UInt8] {
    var compact: [UInt8] = []
    compact.reserveCapacity(json.count)
    forEachByte(of: json) { byte, isInString in
        if isInString || byte > UInt8(ascii: " ") { compact.append(byte) }
    }
    return compact
}

/// The levels of arrays and objects in a valid value.
private func depth(of json: UnsafeRawBufferPointer) -> Int {
    var (depth, deepest) = (0, 0)
    forEachByte(of: json) { byte, isInString in
        guard !isInString else { return }
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
        deepest = max(deepest, depth)
    }
    return deepest
}

/// Calls `body` with each byte of a valid value and whether it is of a string.
private func forEachByte(of json: UnsafeRawBufferPointer, _ body: (UInt8, Bool) -> Void) {
    var (isInString, isEscaped) = (false, false)
    for byte in json {
        body(byte, isInString)
        if isInString, isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\"") {
            isInString.toggle()
        } else {
            isEscaped = isInString && byte == UInt8(ascii: "\\")
        }
    }
}
