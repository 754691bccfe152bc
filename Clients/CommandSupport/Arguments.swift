import Models
import ServiceKit

/// The words after a command, checked against its description: `--name value`, `--name=value`, `--switch`, positionals.
package struct Arguments: Sendable {
    private var values: [String: [String]] = [:]
    package private(set) var positional: [String] = []

    package init(_ words: [String], for command: CommandDescription) throws(UsageError) {
        var rest = words[...]
        var takesOptions = true
        while let word = rest.popFirst() {
            if takesOptions, word == "--" {
                takesOptions = false
            } else if takesOptions, word.hasPrefix("--") {
                try takeOption(word.dropFirst(2), &rest, command)
            } else {
                positional.append(word)
            }
        }
        try checkPositional(command)
    }

    private mutating func takeOption(
        _ word: Substring, _ rest: inout ArraySlice<String>, _ command: CommandDescription
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts.first ?? "")
        guard let option = command.option(named: name) else {
            throw UsageError("there is no option --\(name); see parley \(command.name) --help")
        }
        if option.value == nil {
            guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
            values[name, default: []].append("")
        } else if parts.count == 2 {
            values[name, default: []].append(String(parts[1]))
        } else {
            guard let value = rest.popFirst() else { throw UsageError("--\(name) needs a value") }
            values[name, default: []].append(value)
        }
    }

    private func checkPositional(_ command: CommandDescription) throws(UsageError) {
        let required = command.positional
        if positional.count < required.count {
            throw UsageError("\(required[positional.count]) is missing; see parley \(command.name) --help")
        }
        let most = required.count + (command.optional == nil ? 0 : 1)
        if positional.count > most, !command.repeatsLast {
            throw UsageError(
                "\"\(positional[most])\" is one word too many; see parley \(command.name) --help")
        }
    }

    // MARK: Values

    /// The names of the options that were given.
    package var names: Set<String> { Set(values.keys) }

    package func flag(_ name: String) -> Bool { values[name] != nil }

    /// Returns the last value given for an option.
    package func value(_ name: String) -> String? { values[name]?.last }

    package func required(_ name: String) throws(UsageError) -> String {
        guard let value = value(name) else { throw UsageError("--\(name) is missing") }
        return value
    }

    /// Returns all values of repeated options, each split at commas.
    package func list(_ name: String) -> [String] {
        (values[name] ?? []).flatMap { $0.split(separator: ",").map(String.init) }
    }

    package func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError("--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func duration(_ name: String) throws(UsageError) -> Duration? {
        guard let text = value(name) else { return nil }
        guard let duration = Duration(text: text) else {
            throw UsageError("--\(name) must be a number with its unit, such as 30s, 10m or 24h")
        }
        return duration
    }

    package func user(_ name: String) throws(UsageError) -> UserID {
        guard let user = UserID(try required(name)) else {
            throw UsageError("--\(name) must be 1 to 64 characters of A-Z a-z 0-9 . _ - @ : +")
        }
        return user
    }
}
