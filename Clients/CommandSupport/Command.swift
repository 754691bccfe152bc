import Reactor

/// A command of `parley`.
package protocol Command: Sendable {
    static var description: CommandDescription { get }

    init(_ arguments: Arguments) throws(UsageError)

    /// - Returns: the exit status of the process: 0 on success, 1 otherwise.
    @Reactor func run() async -> Int32
}

/// The description of a command, used by `--help` and to check arguments.
package struct CommandDescription: Sendable {
    package struct Option: Sendable {
        package let name: String
        /// The placeholder of the value. Nil for a switch.
        package let value: String?
        package let help: String

        package init(_ name: String, _ value: String? = nil, _ help: String) {
            self.name = name
            self.value = value
            self.help = help
        }
    }

    package let name: String
    package let summary: String
    /// The positional arguments, such as `FILE`.
    package let positional: [String]
    /// A further positional argument that may be left out.
    package let optional: String?
    /// Whether there may be several of the last positional argument.
    package let repeatsLast: Bool
    package let options: [Option]
    package let details: String

    package init(
        name: String, summary: String, positional: [String] = [], optional: String? = nil, repeatsLast: Bool = false,
        options: [Option] = [], details: String = ""
    ) {
        self.name = name
        self.summary = summary
        self.positional = positional
        self.optional = optional
        self.repeatsLast = repeatsLast
        self.options = options
        self.details = details
    }

    package func option(named name: String) -> Option? { options.first { $0.name == name } }

    package var help: String {
        let words =
            ["parley", name] + positional.dropLast(repeatsLast ? 1 : 0)
            + (repeatsLast ? positional.suffix(1).map { "\($0)…" } : []) + (optional.map { ["[\($0)]"] } ?? [])
        let usage = (words + (options.isEmpty ? [] : ["[OPTIONS]"])).joined(separator: " ")
        let sections = ["\(summary)", "Usage: \(usage)", optionLines, details]
        return sections.filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    private var optionLines: String {
        let titles = options.map { "--\($0.name)" + ($0.value.map { " \($0)" } ?? "") }
        let width = titles.map(\.count).max() ?? 0
        return zip(titles, options).map { title, option in
            let indent = String(repeating: " ", count: width + 4)
            let help = option.help.split(separator: "\n").joined(separator: "\n\(indent)")
            return "  \(title)\(String(repeating: " ", count: width - title.count))  \(help)"
        }.joined(separator: "\n")
    }
}

/// The command line is invalid or cannot be carried out as given.
package struct UsageError: Error, Equatable {
    package let text: String
    package init(_ text: String) { self.text = text }
}
