import Models
import ParleyPresentation

// Where things are on the screen.
extension ChatScreen {
    /// Below this nothing of use can be shown.
    static let smallest = Size(columns: 24, rows: 8)

    var isLargeEnough: Bool { size.columns >= Self.smallest.columns && size.rows >= Self.smallest.rows }

    /// Whether list and conversation are side by side.
    var isSplit: Bool { size.columns >= 72 }

    var listWidth: Int { isSplit ? max(24, min(36, size.columns * 3 / 10)) : size.columns }

    var talkWidth: Int { isSplit ? size.columns - listWidth - 1 : size.columns }

    var isListShown: Bool { isSplit || focus == .list }

    var isTalkShown: Bool { isLargeEnough && talk != nil && (isSplit || !isListShown) }

    /// Whether messages can be seen: not behind a search, for example.
    var isTimelineShown: Bool { isTalkShown && !isPanelShown }

    var isPanelShown: Bool {
        switch focus {
        case .search, .beginning, .help, .details, .settings, .revisions, .attaching, .saving: true
        case .list, .composer, .messages, .tapback, .deletion: false
        }
    }

    /// Between the bar at the top and the line of keys at the bottom.
    var bodyHeight: Int { size.rows - 2 }

    /// Each conversation takes two lines.
    var listHeight: Int { max(1, bodyHeight / 2) }

    /// The first conversation that is shown.
    var listStart: Int {
        let index = list.firstIndex { $0.conversation.id == marked } ?? 0
        return index / listHeight * listHeight
    }

    func entry(atRow row: Int) -> ListEntry? {
        let index = listStart + (row - 1) / 2
        return row >= 1 && row <= bodyHeight && list.indices.contains(index) ? list[index] : nil
    }

    // MARK: The conversation

    var composerWidth: Int { talkWidth - 3 }

    private static let mostComposerLines = 6

    var composer: TextEditor.Layout { memory.composer(talk?.editor ?? TextEditor(), width: composerWidth) }

    var composerHeight: Int { min(composer.lines.count, Self.mostComposerLines, max(1, bodyHeight / 3)) }

    /// Without the head, the line below the messages, and what is being written.
    var timelineHeight: Int { max(1, bodyHeight - 2 - (modeLine == nil ? 0 : 1) - composerHeight) }

    func layout(of talk: OpenConversation) -> TimelineLayout {
        var layout = TimelineLayout(bubbles: talk.bubbles, width: talkWidth, times: maker.times, memory: memory)
        layout.name = called
        layout.selected = focus == .composer || focus == .list ? nil : talk.selected
        layout.tapped = talk.tapped
        layout.isOnline = connection == .online
        layout.uploads = talk.uploads
        layout.firstUnread = talk.timeline.firstUnread
        return layout
    }

    /// What becomes of the text, where that is not a plain message.
    var modeLine: Line? {
        switch talk?.mode {
        case .reply(_, let sender, let preview):
            let whom = sender.map { $0 == user ? "yourself" : called($0) } ?? "an earlier message"
            var line = Line(" ↳ Reply to \(whom)" + (preview == nil ? "" : ": "), .bold)
            line.append(preview ?? "", .dim)
            return Line.between(line, Line(" Esc cancels ", .dim), width: talkWidth)
        case .edit: return Line.between(Line(" ✎ Edit", .bold), Line(" Esc cancels ", .dim), width: talkWidth)
        case .message, nil: return nil
        }
    }
}
