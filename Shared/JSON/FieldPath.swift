/// The path of the field that a document's first unread byte belongs to, such as `messages[3].text`.
///
/// Built from the part of a document that was read without errors, only when the next byte is at fault. So the
/// structure is valid and not checked again.
struct FieldPath: CustomStringConvertible {
    private enum Step {
        case key(String)
        case index(Int)
    }
    private var steps: [Step] = []
    /// The last string. It becomes a step if a colon follows.
    private var lastString = ""

    init(before bytes: UnsafeRawBufferPointer) {
        var position = 0
        while position < bytes.count {
            take(bytes, &position)
            position += 1
        }
    }

    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) {
        switch bytes[position] {
        case UInt8(ascii: "{"): steps.append(.key(""))
        case UInt8(ascii: "["): steps.append(.index(0))
        case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = steps.popLast()
        case UInt8(ascii: ":"): replaceLast(with: .key(lastString))
        case UInt8(ascii: ","): next()
        case UInt8(ascii: "\""): lastString = skipString(bytes, &position)
        default: break
        }
    }

    private mutating func next() {
        switch steps.last {
        case .index(let index): replaceLast(with: .index(index + 1))
        case .key: replaceLast(with: .key(""))
        case nil: break
        }
    }

    private mutating func replaceLast(with step: Step) {
        guard !steps.isEmpty else { return }
        steps[steps.count - 1] = step
    }

    /// Moves to the closing quote, or to the end of an incomplete string.
    private func skipString(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> String {
        let first = position + 1
        position = first
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard position < bytes.count else { return "" }
        return String(decoding: bytes[first..<position], as: UTF8.self)
    }

    var description: String {
        steps.reduce(into: "") { path, step in
            switch step {
            case .key(let key): path += path.isEmpty || key.isEmpty ? key : ".\(key)"
            case .index(let index): path += "[\(index)]"
            }
        }
    }
}
