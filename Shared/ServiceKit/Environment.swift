import Glibc

/// The environment variables of a process, decoded once into a service's configuration.
///
/// Every variable that is read is recorded with its effective value, so that a service can log its configuration at
/// start. Secrets are recorded only as "(set)".
///
/// ```
/// struct IngestConfiguration {
///     let listen: ListenAddress
///     init(environment: inout Environment) throws(ConfigurationError) {
///         listen = try environment.address("PARLEY_LISTEN", default: "0.0.0.0:8080")
///     }
/// }
/// ``` An empty variable counts as not set: compose files pass unset variables as empty ones.
public struct Environment: Sendable {
    private let variables: [String: String]
    /// The variables read and their effective values, in the order of reading.
    public private(set) var summary: [(name: String, value: String)] = []

    public init(_ variables: [String: String]) { self.variables = variables }

    /// The environment of this process.
    public static var process: Environment {
        var variables: [String: String] = [:]
        var entry = environ
        while let line = entry.pointee {
            let text = String(cString: line)
            if let equals = text.firstIndex(of: "=") {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            entry += 1
        }
        return Environment(variables)
    }

    // MARK: Plain values

    public mutating func string(_ name: String, default value: String) -> String {
        optionalString(name) ?? remember(name, value)
    }

    public mutating func optionalString(_ name: String) -> String? {
        guard let value = raw(name) else { return nil }
        return remember(name, value)
    }

    public mutating func requiredString(_ name: String) throws(ConfigurationError) -> String {
        guard let value = optionalString(name) else { throw ConfigurationError(name, "must be set") }
        return value
    }

    /// The items between commas, without white space around them; empty items are left out.
    public mutating func list(_ name: String, default value: String) -> [String] {
        string(name, default: value).split(separator: ",").map { $0.trimmingSpaces() }.filter { !$0.isEmpty }
    }

    public mutating func integer(
        _ name: String, default value: Int, in range: ClosedRange<Int>
    ) throws(ConfigurationError) -> Int {
        try decode(name, default: value, must: "be a whole number from \(range.lowerBound) to \(range.upperBound)") {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    public mutating func flag(_ name: String, default value: Bool) throws(ConfigurationError) -> Bool {
        try decode(name, default: value, must: "be 1, 0, true or false") { text in
            switch text {
            case "1", "true": true
            case "0", "false": false
            default: nil
            }
        }
    }

    /// Reads a number with a unit: `250ms`, `5s`, `2m`, `1h`.
    public mutating func duration(_ name: String, default value: Duration) throws(ConfigurationError) -> Duration {
        try decode(name, default: value, must: "be a whole number with the unit ms, s, m or h") { Duration(text: $0) }
    }

    public mutating func address(
        _ name: String, default value: ListenAddress
    ) throws(ConfigurationError) -> ListenAddress {
        try decode(name, default: value, must: "be address:port, such as 127.0.0.1:8080") { ListenAddress($0) }
    }

    /// Reads a value of any type. `decode` returns nil for a malformed value, and `requirement` completes "NAME must
    /// …".
    public mutating func decode<Value>(
        _ name: String, default value: Value, must requirement: String, _ decode: (String) -> Value?
    ) throws(ConfigurationError) -> Value {
        guard let text = raw(name) else {
            _ = remember(name, "\(value)")
            return value
        }
        guard let decoded = decode(text) else { throw ConfigurationError(name, "must \(requirement), not \"\(text)\"") }
        _ = remember(name, text)
        return decoded
    }

    // MARK: Secrets

    /// Reads a value that is never shown, from the variable itself or, as container platforms mount secrets, from the
    /// file that NAME_FILE names, without its trailing line break.
    public mutating func secret(_ name: String) throws(ConfigurationError) -> String? {
        let inline = raw(name)
        let path = raw(name + "_FILE")
        if inline != nil, path != nil { throw ConfigurationError(name, "must not be set together with \(name)_FILE") }
        if let path { return try secretFile(name + "_FILE", path) }
        summary.append((name, inline == nil ? "(not set)" : "(set)"))
        return inline
    }

    /// Reads the file that a variable names; nil when the variable is not set.
    public mutating func file(_ name: String) throws(ConfigurationError) -> String? {
        guard let path = raw(name) else { return nil }
        return try secretFile(name, path)
    }

    private mutating func secretFile(_ name: String, _ path: String) throws(ConfigurationError) -> String {
        guard let content = readTextFile(path) else {
            throw ConfigurationError(name, "must name a readable file: \(path): \(String(cString: strerror(errno)))")
        }
        var text = Substring(content)
        while let last = text.last, last.isNewline { text.removeLast() }
        guard !text.isEmpty else { throw ConfigurationError(name, "names an empty file: \(path)") }
        _ = remember(name, path)
        return String(text)
    }

    private func raw(_ name: String) -> String? {
        guard let value = variables[name], !value.isEmpty else { return nil }
        return value
    }

    private mutating func remember(_ name: String, _ value: String) -> String {
        summary.append((name, maskingPassword(in: value)))
        return value
    }
}

/// An invalid configuration: the variable and what it must be. The service does not start.
public struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    public let variable: String
    public let reason: String

    public init(_ variable: String, _ reason: String) {
        self.variable = variable
        self.reason = reason
    }

    public var description: String { "\(variable) \(reason)" }
}

extension Substring {
    fileprivate func trimmingSpaces() -> String {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
