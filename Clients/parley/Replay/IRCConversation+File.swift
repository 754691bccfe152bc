import Archives
import CommandSupport
import Glibc
import ServiceKit

extension IRCConversation {
    static func read(file path: String) throws(UsageError) -> [IRCConversation] {
        guard let content = readFile(path) else {
            throw UsageError("cannot read \(path): \(String(cString: strerror(errno)))")
        }
        var conversations: [IRCConversation] = []
        for (number, line) in content.split(separator: UInt8(ascii: "\n")).enumerated() {
            do {
                conversations.append(try line.withUnsafeBytes { try IRCConversation(line: $0) })
            } catch {
                throw UsageError("\(path), line \(number + 1): \(error)")
            }
        }
        guard !conversations.isEmpty else { throw UsageError("\(path) holds no conversation") }
        return conversations
    }
}
