import Models

/// The names that the SQL of a service may use in braces: values from Swift, and fragments.
///
/// A value is defined once, in Swift, and has a name in SQL: `{ChangeKind.memberAdded}`,
/// `{ContractLimits.membersPerConversation}`. A fragment is a file of its own, for a rule that several statements
/// share: `{reader_stay}`. It may take arguments: `{is_visible(seq => p.seq)}`. A name without an argument stands for
/// the parameter of that name in the including statement.
public struct SQLNames: Sendable {
    enum Meaning {
        /// SQL, inserted unchanged.
        case value(String)
        case fragment(SQLFile)
    }

    private(set) var meanings: [String: Meaning] = [:]

    public init(_ parts: SQLNames...) {
        for part in parts { meanings.merge(part.meanings) { _, _ in preconditionFailure("SQL names are unique") } }
    }

    private init(_ meanings: [String: Meaning]) { self.meanings = meanings }

    // MARK: Values

    /// The numbers of an enum's cases, each as `name.case`.
    public static func cases<Kind: CaseIterable & RawRepresentable>(
        of kind: Kind.Type, as name: String? = nil
    ) -> SQLNames where Kind.RawValue: BinaryInteger {
        let name = name ?? "\(kind)"
        return SQLNames(
            Dictionary(uniqueKeysWithValues: kind.allCases.map { ("\(name).\($0)", .value("\($0.rawValue)")) }))
    }

    /// The names of an enum's cases in the contract, each as `name.case.name`.
    public static func contractNames<Kind: CaseIterable & ContractName>(of kind: Kind.Type) -> SQLNames {
        SQLNames(
            Dictionary(
                uniqueKeysWithValues: kind.allCases.map { ("\(kind).\($0).name", .value("'\($0.name)'")) }))
    }

    public static func number(_ name: String, _ number: some BinaryInteger) -> SQLNames {
        SQLNames([name: .value("\(number)")])
    }

    /// An `interval`.
    public static func interval(_ name: String, _ duration: Duration) -> SQLNames {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + attoseconds / 1_000_000_000_000_000
        return SQLNames([name: .value("interval '\(milliseconds) milliseconds'")])
    }

    /// A string, quoted. It must hold no quote.
    public static func string(_ name: String, _ text: String) -> SQLNames {
        precondition(!text.contains("'"), "a string in SQL ends at a quote")
        return SQLNames([name: .value("'\(text)'")])
    }

    /// A name of the schema, or an expression: SQL, inserted unchanged.
    public static func sql(_ name: String, _ sql: String) -> SQLNames { SQLNames([name: .value(sql)]) }

    // MARK: Fragments

    /// A file that statements include.
    public static func fragment(_ name: String, _ file: [UInt8]) -> SQLNames {
        do {
            return SQLNames([name: .fragment(try SQLFile(name, file))])
        } catch { preconditionFailure("\(error)") }
    }

    /// The names of all fragments.
    public var fragments: Set<String> {
        Set(meanings.compactMap { if case .fragment = $0.value { $0.key } else { nil } })
    }
}
