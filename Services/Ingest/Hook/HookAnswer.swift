import JSON
import Models

/// What the application says of what it was asked about.
struct HookAnswer: Equatable {
    enum Action: Equatable {
        enum Name: CaseIterable {
            case allow, refuse, ask, decline
        }

        case allow
        /// With what its user is told.
        case refuse(String)
        case ask
        case decline
    }

    /// Of each.
    private(set) var actions: [Action]

    static let mostBytes = 256 << 10
    /// Of a detail, in Unicode scalars. The rest is cut off.
    static let detailCharacters = 300

    /// - Parameter names: what may be said.
    init(status: Int, _ body: [UInt8], count: Int, _ names: [Action.Name]) throws(HookFailure) {
        guard status == 200 || status == 204 else { throw .status }
        actions = Array(repeating: .allow, count: count)
        guard status == 200 else { return }
        guard let verdict = body.withUnsafeBytes(Verdict.init(document:)) else { throw .answer }
        let verdicts: [Verdict]
        switch (verdict.name, verdict.results) {
        case (_?, nil): verdicts = Array(repeating: verdict, count: count)
        case (nil, let results?) where results.count == count: verdicts = results
        default: throw .answer
        }
        guard verdicts.allSatisfy({ $0.name.map(names.contains) ?? false }) else { throw .answer }
        actions = verdicts.map(\.action)
    }

    /// `{"action":"refuse","detail":"…"}`, or `{"results":[…]}` with one of these for each.
    private struct Verdict {
        private(set) var name: Action.Name?
        private var detail: String?
        private(set) var results: [Verdict]?

        private static let keys: JSONKeys = ["action", "detail", "results"]

        /// Nil if it cannot be read.
        init?(document: UnsafeRawBufferPointer) {
            var reader = JSONReader(document)
            do throws(JSONError) {
                self = try Verdict(&reader, mayHaveResults: true)
                try reader.end()
            } catch {
                return nil
            }
        }

        private init(_ reader: inout JSONReader, mayHaveResults: Bool) throws(JSONError) {
            var given = JSONKeys.Given()
            try reader.beginObject()
            while let key = try reader.nextKey(of: Self.keys, &given) {
                switch key {
                case "action": name = try Self.name(&reader)
                case "detail": detail = try reader.consumeNull() ? nil : try reader.string()
                case "results" where mayHaveResults: results = try Self.results(&reader)
                default: try reader.skip()
                }
            }
        }

        private static func name(_ reader: inout JSONReader) throws(JSONError) -> Action.Name {
            switch try reader.slice() {
            case "allow": return .allow
            case "refuse": return .refuse
            case "ask": return .ask
            case "decline": return .decline
            default: throw reader.failure(.expected("an action"))
            }
        }

        var action: Action {
            switch name {
            case .refuse: .refuse(text)
            case .ask: .ask
            case .decline: .decline
            case .allow, nil: .allow
            }
        }

        private static func results(_ reader: inout JSONReader) throws(JSONError) -> [Verdict] {
            var results: [Verdict] = []
            try reader.beginArray()
            while try reader.nextElement() {
                let result = try Verdict(&reader, mayHaveResults: false)
                guard result.name != nil else { throw reader.failure(.expected("an action")) }
                results.append(result)
            }
            return results
        }

        /// One line of text.
        private var text: String {
            let scalars = (detail ?? "").unicodeScalars.map { $0.mayStandInOneLine ? $0 : " " }
            let words = String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
            let text = String(String.UnicodeScalarView(words.unicodeScalars.prefix(HookAnswer.detailCharacters)))
            return text
        }
    }
}

extension HookFailure: Error {}
