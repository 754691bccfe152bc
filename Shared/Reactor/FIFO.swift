/// A first-in, first-out queue. Appending and removing take amortised constant time.
public struct FIFO<Element> {
    /// The elements before `head` were removed.
    private var elements: [Element?] = []
    private var head = 0

    public init() {}

    public var count: Int { elements.count - head }
    public var isEmpty: Bool { head == elements.count }
    public var first: Element? { isEmpty ? nil : elements[head] }

    public mutating func append(_ element: Element) { elements.append(element) }

    /// Changes the first element in place. The queue must not be empty.
    public mutating func updateFirst(_ body: (inout Element) -> Void) { body(&elements[head]!) }

    public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer { compact() }
        // Set to nil and not only skipped: the element may hold much memory.
        defer { head += 1 }
        return elements[head].take()
    }

    /// Moves the elements to the front when half of the array is unused: each is moved once on average.
    private mutating func compact() {
        guard head * 2 > elements.count else { return }
        elements.removeFirst(head)
        head = 0
    }
}

extension FIFO: Sequence {
    public func makeIterator() -> some IteratorProtocol<Element> {
        elements[head...].lazy.compactMap(\.self).makeIterator()
    }
}
