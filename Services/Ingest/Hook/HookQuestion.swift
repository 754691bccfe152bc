import Bytes

/// What the application is asked about one command: its messages, or the members that it brings in.
protocol HookQuestion {
    /// What the question is called.
    static var type: StaticString { get }
    /// The key of the user whose command it is, and that of the list.
    static var author: StaticString { get }
    static var list: StaticString { get }
    /// What may be said of each.
    static var actions: [HookAnswer.Action.Name] { get }

    var command: [UInt8] { get }
    /// How many the application is asked about.
    var count: Int { get }

    /// Appends an element of JSON for each.
    func write(to buffer: inout ByteBuffer)
}
