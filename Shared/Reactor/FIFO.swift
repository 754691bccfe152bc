/// A queue: appended to at the end, taken from at the front, each at constant cost on average.
public struct FIFO<Element> {
    /// Those before `head` were taken.
    private var elements: [Element?] = []
    private var head = 0

    public init() {}

    public var count: Int { elements.count - head }
    public var isEmpty: Bool { head == elements.count }
    public var first: Element? { isEmpty ? nil : elements[head] }

    public mutating func append(_ element: Element) { elements.append(element) }

    /// Changes the first element in its place. There must be one.
    public mutating func updateFirst(_ body: (inout Element) -> Void) { body(&elements[head]!) }

    public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        defer { compact() }
        // Taken out, not only passed by: what it holds may be large.
        defer { head += 1 }
        return elements[head].take()
    }

    /// Moves the elements to the front when half of the memory has none: each is moved once on average.
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
