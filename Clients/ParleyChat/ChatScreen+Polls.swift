import Models
import ParleyPresentation
import ParleyStorage

// Polls: what is written becomes one, and options are chosen by number.
extension ChatScreen {
    /// The keys of options, the first first.
    private static let optionKeys = Array("123456789abc")

    static func key(ofOption place: Int) -> String { String(optionKeys[place]) }

    /// Sends what is written as a poll: its first line is the question, each other one an option.
    mutating func sendPoll() -> [ChatEffect] {
        guard let talk, talk.mode == .message, !isRequest, writingRefusal == nil else { return [] }
        var lines = talk.editor.text.split(separator: "\n").map { HarmlessText.line(String($0)) }.filter { !$0.isEmpty }
        let isMultiple = lines.first?.hasPrefix("+") ?? false
        if isMultiple { lines[0] = HarmlessText.line(String(lines[0].dropFirst())) }
        let options = Array(lines.dropFirst())
        guard 2...ContractLimits.pollOptions ~= options.count, Set(options).count == options.count,
            options.allSatisfy({ $0.unicodeScalars.count <= ContractLimits.pollOptionCharacters }), !lines[0].isEmpty
        else {
            notice =
                "A poll: a question, then 2 to \(ContractLimits.pollOptions) different options, a line each (Ctrl-J). "
                + "+ before the question lets choose several."
            return []
        }
        self.talk?.editor.replace(with: "")
        return endTyping() + [.sendPoll(lines[0], options, multiple: isMultiple)] + keepDraft() + scrollToEnd()
    }

    mutating func pressForVote(_ key: Key) -> [ChatEffect] {
        focus = .messages
        guard let row = talk?.selectedRow, let poll = row.message.poll, case .text(let text) = key else { return [] }
        guard let place = poll.options.indices.first(where: { Self.key(ofOption: $0) == text }) else {
            notice = "Options have numbers."
            return []
        }
        let chosen = poll.vote?.options ?? []
        let others = poll.multiple ? chosen.filter { $0 != place } : []
        return [.vote(row.id, chosen.contains(place) ? others : (others + [place]).sorted())]
    }

    func voteChoice() -> Line {
        var line = Line(" Vote: ", .bold)
        guard let poll = talk?.selectedRow?.message.poll else { return line }
        for (place, option) in poll.options.enumerated() {
            let isChosen = poll.vote?.options.contains(place) ?? false
            line.append(
                "\(Self.key(ofOption: place)) \(HarmlessText.line(option.text, limit: 20))  ",
                isChosen ? .own.reversed : .plain)
        }
        return line
    }
}
