import JSON

/// Skips a value in pieces, validating it as `JSONReader.skip` does. Skipping a large value takes longer than a turn
/// may.
struct JSONSkipping {
    /// The enclosing containers from the outside in: whether each is an array.
    private var containers: [Bool] = []

    /// Skips a scalar, or enters or leaves a container. Returns whether there is more of the value.
    mutating func next(_ reader: inout JSONReader) throws(JSONError) -> Bool {
        if let isArray = containers.last {
            guard try isArray ? reader.nextElement() : reader.nextKey() != nil else {
                containers.removeLast()
                return !containers.isEmpty
            }
        }
        switch try reader.kind() {
        case .object:
            try reader.beginObject()
            containers.append(false)
        case .array:
            try reader.beginArray()
            containers.append(true)
        default: try reader.skip()
        }
        return !containers.isEmpty
    }
}
