/// A table of values by object, such as the sessions of a room. Lookup, insertion and removal take constant time, and
/// the order does not depend on addresses.
///
/// Most tables are small. They are searched linearly and use no memory besides their entries.
struct IdentityTable<Value> {
    /// The most entries that are searched without an index.
    static var searched: Int { 16 }

    private struct Entry {
        let id: ObjectIdentifier
        var value: Value
    }

    private var entries: ContiguousArray<Entry> = []
    /// The index of each object's entry; empty in small tables.
    private var indices: [ObjectIdentifier: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var values: some RandomAccessCollection<Value> { entries.lazy.map(\.value) }

    func contains(_ object: AnyObject) -> Bool { index(of: object) != nil }

    subscript(object: AnyObject) -> Value? { index(of: object).map { entries[$0].value } }

    /// The most entries that a search visits, for tests.
    var searchLength: Int { indices.isEmpty ? entries.count : 1 }

    /// Sets the value of an object, replacing its former one.
    mutating func set(_ object: AnyObject, _ value: Value) {
        if let index = index(of: object) {
            entries[index].value = value
        } else {
            append(object, value)
        }
    }

    /// Adds the value of an object, which must not be in the table.
    mutating func append(_ object: AnyObject, _ value: Value) {
        let id = ObjectIdentifier(object)
        entries.append(Entry(id: id, value: value))
        if !indices.isEmpty {
            indices[id] = entries.count - 1
        } else if entries.count > Self.searched {
            for (index, entry) in entries.enumerated() { indices[entry.id] = index }
        }
    }

    @discardableResult
    mutating func remove(_ object: AnyObject) -> Value? {
        guard let index = index(of: object) else { return nil }
        let last = entries.count - 1
        if index != last {
            entries.swapAt(index, last)
            if !indices.isEmpty { indices[entries[index].id] = index }
        }
        if !indices.isEmpty { indices[ObjectIdentifier(object)] = nil }
        return entries.removeLast().value
    }

    mutating func popLast() -> Value? {
        guard let last = entries.popLast() else { return nil }
        if !indices.isEmpty { indices[last.id] = nil }
        return last.value
    }

    mutating func removeAll() { self = Self() }

    private func index(of object: AnyObject) -> Int? {
        let id = ObjectIdentifier(object)
        return indices.isEmpty ? entries.firstIndex { $0.id == id } : indices[id]
    }
}

extension IdentityTable where Value: AnyObject {
    mutating func append(_ object: Value) { append(object, object) }
}
