import Models
import ParleyPresentation
import ParleyStorage

// The panels for files: one that is to be sent, and one that is to be saved.
extension ChatScreen {
    /// Below the head, and a line that says what it is about.
    static let fileRow = 3

    // MARK: Sending

    mutating func openAttaching() {
        guard let talk else { return }
        if case .edit = talk.mode {
            notice = "Finish the edit first."
        } else if let entry = entry(of: talk.id), !entry.conversation.isMember {
            notice = ActionRefusal.formerMember.text
        } else if let refusal = writingRefusal {
            notice = refusal.text
        } else {
            focus = .attaching(AttachPanel())
        }
    }

    mutating func press(_ key: Key, in panel: AttachPanel) -> [ChatEffect] {
        var panel = panel
        switch key {
        case .escape, .tab:
            leavePanel()
            return []
        case .enter: return attach(panel.path.text)
        default:
            _ = panel.path.edit(key)
            focus = .attaching(panel)
            return []
        }
    }

    /// What was being written goes with the file.
    private mutating func attach(_ path: String) -> [ChatEffect] {
        guard let talk, path.contains(where: { !$0.isWhitespace }) else { return [] }
        var parent: MessageID?
        if case .reply(let id, _, _) = talk.mode { parent = id }
        let text = talk.editor.text.contains { !$0.isWhitespace } ? talk.editor.text : ""
        self.talk?.editor.replace(with: "")
        self.talk?.mode = .message
        self.talk?.selected = nil
        leavePanel()
        return endTyping() + [.sendFile(path: path, text, replyTo: parent)] + keepDraft() + scrollToEnd()
    }

    func lines(of panel: AttachPanel) -> [Line] {
        let text = talk?.editor.text.contains { !$0.isWhitespace } ?? false
        return [
            Line(" Send a file", .bar).fitted(to: talkWidth, filling: .bar), Line(),
            Line(text ? " What you have written goes with it." : " Its path, or its name in this folder:", .dim),
            fieldLine("File", panel.path, isActive: true),
        ]
    }

    // MARK: Saving

    mutating func openSaving() {
        guard let row = talk?.selectedRow else { return }
        if let panel = SavePanel(row) { focus = .saving(panel) } else { notice = "The message has no file." }
    }

    mutating func press(_ key: Key, in panel: SavePanel) -> [ChatEffect] {
        var panel = panel
        switch key {
        case .escape:
            leavePanel()
            return []
        case .tab: panel.next()
        case .enter:
            guard panel.path.text.contains(where: { !$0.isWhitespace }) else { return [] }
            leavePanel()
            return [.saveFile(panel.file, path: panel.path.text)]
        default: _ = panel.path.edit(key)
        }
        focus = .saving(panel)
        return []
    }

    func lines(of panel: SavePanel) -> [Line] {
        let number = panel.files.count > 1 ? "\(panel.index + 1) of \(panel.files.count): " : ""
        return [
            Line(" Save a file", .bar).fitted(to: talkWidth, filling: .bar), Line(),
            Line(" " + number + FileLabel(panel.file.attachment).text, .dim),
            fieldLine("As", panel.path, isActive: true),
            Line("         in this folder, unless it is a path", .dim),
        ]
    }
}
