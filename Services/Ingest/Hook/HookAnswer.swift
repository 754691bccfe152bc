import JSON
import Models

/// What the application says of the messages that it was asked about.
struct HookAnswer: Equatable {
    /// What it tells the sender, by the position of each message that it refuses.
    private(set) var refusals: [Int: String] = [:]

    static let mostBytes = 256 << 10
    /// Of a detail, in Unicode scalars. The rest is cut off.
    static let detailCharacters = 300
    static let defaultDetail = "the application does not accept this message"

    /// - Parameter count: of the messages.
    init(status: Int, _ body: [UInt8], count: Int) throws(HookFailure) {
        guard status == 200 || status == 204 else { throw .status }
        guard status == 200 else { return }
        guard let verdict = body.withUnsafeBytes(Verdict.init(document:)) else { throw .answer }
        switch (verdict.refuses, verdict.results) {
        case (false?, nil): break
        case (true?, nil): for position in 0..<count { refusals[position] = verdict.text }
        case (nil, let results?) where results.count == count:
            for (position, result) in results.enumerated() where result.refuses == true {
                refusals[position] = result.text
            }
        default: throw .answer
        }
    }

    /// `{"action":"refuse","detail":"…"}`, or `{"results":[…]}` with one of these for each message.
    private struct Verdict {
        private(set) var refuses: Bool?
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
                case "action": refuses = try Self.action(&reader)
                case "detail": detail = try reader.consumeNull() ? nil : try reader.string()
                case "results" where mayHaveResults: results = try Self.results(&reader)
                default: try reader.skip()
                }
            }
        }

        private static func action(_ reader: inout JSONReader) throws(JSONError) -> Bool {
            switch try reader.slice() {
            case "allow": return false
            case "refuse": return true
            default: throw reader.failure(.expected("allow or refuse"))
            }
        }

        private static func results(_ reader: inout JSONReader) throws(JSONError) -> [Verdict] {
            var results: [Verdict] = []
            try reader.beginArray()
            while try reader.nextElement() {
                let result = try Verdict(&reader, mayHaveResults: false)
                guard result.refuses != nil else { throw reader.failure(.expected("an action")) }
                results.append(result)
            }
            return results
        }

        /// One line of plain text: nothing that a terminal or a page would take for more than text, or in another direction.
        var text: String {
            let scalars = (detail ?? "").unicodeScalars.map { HookAnswer.isPlain($0) ? $0 : " " }
            let words = String(String.UnicodeScalarView(scalars)).split(separator: " ").joined(separator: " ")
            let text = String(String.UnicodeScalarView(words.unicodeScalars.prefix(HookAnswer.detailCharacters)))
            return text.isEmpty ? HookAnswer.defaultDetail : text
        }
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: false
        default: true
        }
    }
}

extension HookFailure: Error {}
