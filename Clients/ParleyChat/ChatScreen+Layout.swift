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
        case .search, .beginning, .joining, .help, .details, .settings, .revisions, .reporting, .attaching, .saving,
            .scheduling:
            true
        case .list, .composer, .messages, .tapback, .voting, .deletion: false
        }
    }

    /// Between the bar at the top and the line of keys at the bottom.
    var bodyHeight: Int { size.rows - 2 }

    /// Each conversation takes two lines.
    var listHeight: Int { max(1, (bodyHeight - (listHead == nil ? 0 : 1)) / 2) }

    /// What stands above the list: that there are requests, or that these are they.
    var listHead: Line? {
        let text = folder == .requests ? " Requests" : " Requests (\(requestCount))"
        guard folder == .requests || folder == .inbox && requestCount > 0 else { return nil }
        let key = folder == .requests ? "R back " : "R shows "
        return Line.between(Line(text, .bold), Line(key, .dim), width: listWidth)
    }

    /// The first conversation that is shown.
    var listStart: Int {
        let index = list.firstIndex { $0.conversation.id == marked } ?? 0
        return index / listHeight * listHeight
    }

    func entry(atRow row: Int) -> ListEntry? {
        let row = row - (listHead == nil ? 0 : 1)
        let index = listStart + (row - 1) / 2
        return row >= 1 && row <= bodyHeight && list.indices.contains(index) ? list[index] : nil
    }

    // MARK: The conversation

    var composerWidth: Int { talkWidth - 3 }

    private static let mostComposerLines = 6

    var composer: TextEditor.Layout { memory.composer(talk?.editor ?? TextEditor(), width: composerWidth) }

    /// Whether the conversation that is open is a request.
    var isRequest: Bool { talk.flatMap { entry(of: $0.id) }?.conversation.request == true }

    /// In the place of the composer, where only others may write. What was written is kept.
    var writingRefusal: ActionRefusal? { talk.flatMap { entry(of: $0.id) }?.conversation.writingRefusal }

    /// In the place of the composer: who asks, and what to do.
    var requestLines: [Line] {
        guard let entry = talk.flatMap({ entry(of: $0.id) }) else { return [] }
        let who = requester(of: entry).map(called) ?? "Somebody"
        let deed = entry.conversation.kind == .direct ? "wants to write with you" : "has added you to this group"
        let sentence = "\(who) \(deed), and does not see what you have read."
        let lines = wrapped(sentence, width: max(1, talkWidth - 2)).prefix(2).map { Line(" " + $0, .dim) }
        let choice =
            talk?.isDeclining == true
            ? Line(" Decline? y yes  Esc no", .bold) : Line(" a accept  d decline  b block", .bold)
        return lines + [choice]
    }

    func requester(of entry: ListEntry) -> UserID? { entry.requester ?? entry.other }

    var composerHeight: Int {
        if isRequest { return requestLines.count }
        if writingRefusal != nil { return 1 }
        return min(composer.lines.count, Self.mostComposerLines, max(1, bodyHeight / 3))
    }

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
