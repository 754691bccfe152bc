/// What belongs to objects, such as the sessions of a room, each once: found, added and taken out at a cost that does not
/// grow with their number, and gone through in an order that does not depend on where they lie in memory.
///
/// Most tables are small. Those are searched from one end to the other, and cost nothing but their entries.
struct IdentityTable<Value> {
    /// Entries that are searched without an index.
    static var searched: Int { 16 }

    private struct Entry {
        let id: ObjectIdentifier
        var value: Value
    }

    private var entries: ContiguousArray<Entry> = []
    /// Where the entry of each object is, if they are many.
    private var places: [ObjectIdentifier: Int] = [:]

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var values: some RandomAccessCollection<Value> { entries.lazy.map(\.value) }

    func contains(_ object: AnyObject) -> Bool { place(of: object) != nil }

    subscript(object: AnyObject) -> Value? { place(of: object).map { entries[$0].value } }

    /// How many entries a search looks at, at most; for tests.
    var searchLength: Int { places.isEmpty ? entries.count : 1 }

    /// Puts a value in the place of the object's former one, if there is one.
    mutating func set(_ object: AnyObject, _ value: Value) {
        if let place = place(of: object) {
            entries[place].value = value
        } else {
            append(object, value)
        }
    }

    /// The object must not be there yet.
    mutating func append(_ object: AnyObject, _ value: Value) {
        let id = ObjectIdentifier(object)
        entries.append(Entry(id: id, value: value))
        if !places.isEmpty {
            places[id] = entries.count - 1
        } else if entries.count > Self.searched {
            for (place, entry) in entries.enumerated() { places[entry.id] = place }
        }
    }

    @discardableResult
    mutating func remove(_ object: AnyObject) -> Value? {
        guard let place = place(of: object) else { return nil }
        let last = entries.count - 1
        if place != last {
            entries.swapAt(place, last)
            if !places.isEmpty { places[entries[place].id] = place }
        }
        if !places.isEmpty { places[ObjectIdentifier(object)] = nil }
        return entries.removeLast().value
    }

    mutating func popLast() -> Value? {
        guard let last = entries.popLast() else { return nil }
        if !places.isEmpty { places[last.id] = nil }
        return last.value
    }

    mutating func removeAll() { self = Self() }

    private func place(of object: AnyObject) -> Int? {
        let id = ObjectIdentifier(object)
        return places.isEmpty ? entries.firstIndex { $0.id == id } : places[id]
    }
}

extension IdentityTable where Value: AnyObject {
    mutating func append(_ object: Value) { append(object, object) }
}
