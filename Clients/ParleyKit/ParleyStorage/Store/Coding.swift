import Foundation
import Models

// Lists are stored as text in the form that digests have, which is read faster than JSON: user ids and kinds contain
// neither commas nor colons.

extension [Window] {
    var stored: String {
        map { window in "\(window.from)-" + (window.to.map { "\($0)" } ?? "") }.joined(separator: ",")
    }

    init(stored text: String) {
        // Of nearly every conversation.
        if text == "1-" {
            self = [Window(from: 1)]
            return
        }
        self = text.split(separator: ",").compactMap { window in
            let bounds = window.split(separator: "-", omittingEmptySubsequences: false)
            guard bounds.count == 2, let from = Int64(bounds[0]) else { return nil }
            return Window(from: from, to: Int64(bounds[1]))
        }
    }
}

extension Permissions {
    /// In the order of `GroupPermission`.
    var stored: String { GroupPermission.allCases.map { self[$0].name }.joined(separator: ",") }

    init?(stored text: String) {
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map {
            Open<PermittedRoles>(String($0))
        }
        // A version of before has stored three.
        guard names.count >= 3 else { return nil }
        self.init()
        (addMembers, rename, write) = (names[0], names[1], names[2])
        mentionAll = names.count > 3 && names[3] != .admins ? names[3] : nil
    }
}

extension [TapbackKind: Int] {
    /// Nil without tapbacks. In the order of the kinds' bytes.
    var stored: String? {
        guard !isEmpty else { return nil }
        return sorted { $0.key.name.utf8.lexicographicallyPrecedes($1.key.name.utf8) }
            .map { "\($0.key.name):\($0.value)" }.joined(separator: ",")
    }

    init(stored text: String) {
        self.init(minimumCapacity: 6)
        for item in text.split(separator: ",") {
            guard let colon = item.lastIndex(of: ":"), let count = Int(item[item.index(after: colon)...]) else {
                continue
            }
            self[TapbackKind(stored: String(item[..<colon]))] = count
        }
    }
}

extension TapbackKind {
    /// A kind that a server sent: perhaps an emoji that this version does not know.
    init(stored name: String) { self.init(codingKey: StoredName(stringValue: name)) }
}

private struct StoredName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension [UserID] {
    /// Nil without users.
    var stored: String? { isEmpty ? nil : map(\.name).joined(separator: ",") }

    init(stored text: String) { self = text.split(separator: ",").compactMap { UserID(String($0)) } }
}

extension String {
    /// JSON of a value that always encodes: the package's own types, without floating-point numbers.
    init(json value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let data = try? encoder.encode(value) else { preconditionFailure("\(type(of: value)) must encode") }
        self.init(decoding: data, as: UTF8.self)
    }

    func decoded<Value: Decodable>(as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(type, from: Data(utf8))
    }
}
