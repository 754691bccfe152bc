/// A queue that is appended to at the end and emptied from the front, each at constant cost on average.
struct FIFO<Element> {
    private var elements: [Element] = []
    private var head = 0

    var first: Element? { head < elements.count ? elements[head] : nil }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() {
        head += 1
        // Half of the memory is spent on elements that are gone: move the others once.
        if head * 2 > elements.count {
            elements.removeFirst(head)
            head = 0
        }
    }
}
