import Models
import ParleyPresentation
import ParleyStorage

/// Which part of a timeline is shown: by what is at the lower edge, so that nothing moves while the user reads and more
/// arrives.
enum Place: Equatable {
    case end
    /// A line of a message.
    case line(MessageID, Int)
}

/// A timeline as lines, made for those messages only that are looked at.
struct TimelineLayout {
    let bubbles: [Bubble]
    let width: Int
    let times: LocalTimes
    var selected: MessageID?
    var tapped: Set<MessageID> = []
    var isOnline = true
    /// What somebody is called.
    var name: (UserID) -> String = \.name
    var uploads: [MessageID: UploadProgress] = [:]
    /// A line above it says that what follows is new.
    var firstUnread: MessageID?

    private let cache = Cache()
    private let memory: LayoutMemory

    init(bubbles: [Bubble], width: Int, times: LocalTimes, memory: LayoutMemory) {
        self.memory = memory
        self.bubbles = bubbles
        self.width = width
        self.times = times
    }

    /// A longer message is cut off until somebody wants to see all of it.
    static let mostLines = 30

    private final class Cache { var lines: [Int: [Line]] = [:] }

    /// A line of a bubble.
    struct Spot: Equatable {
        var bubble: Int
        var line: Int
    }

    struct View {
        var lines: [Line] = []
        /// The bubbles of which something is shown.
        var bubbles: Range<Int> = 0..<0
        /// Whether the beginning of what is loaded is shown.
        var isAtStart = false
        var isAtEnd = false
    }

    // MARK: Scrolling

    func view(from place: Place, height: Int) -> View {
        var view = View()
        guard height > 0, let bottom = spot(of: place) else {
            view.isAtStart = true
            view.isAtEnd = true
            return view
        }
        let top = moved(bottom, by: 1 - height)
        let room = height - distance(from: top, to: bottom) - 1
        let end = moved(bottom, by: max(0, room))
        var spot = top
        while view.lines.count < height {
            view.lines.append(lines(of: spot.bubble)[spot.line])
            guard spot != end else { break }
            spot = moved(spot, by: 1)
        }
        view.bubbles = top.bubble..<end.bubble + 1
        view.isAtStart = top == Spot(bubble: 0, line: 0)
        view.isAtEnd = end == last
        return view
    }

    /// - Parameter lines: upwards if negative.
    func scrolled(_ place: Place, by lines: Int, height: Int) -> Place {
        guard let bottom = spot(of: place) else { return .end }
        let target = moved(bottom, by: lines)
        // Never above the first screenful.
        let first = moved(Spot(bubble: 0, line: 0), by: height - 1)
        return self.place(of: target.isBefore(first) ? first : target)
    }

    /// Moves as little as it takes to show a message, or its beginning if it is longer than the screen.
    func showing(_ id: MessageID, from place: Place, height: Int) -> Place {
        guard let index = bubbles.firstIndex(where: { $0.id == id }), let bottom = spot(of: place) else { return place }
        let top = moved(bottom, by: 1 - height)
        let first = Spot(bubble: index, line: 0)
        let last = Spot(bubble: index, line: lines(of: index).count - 1)
        let isTooLong = last.line >= height
        if first.isBefore(top) || isTooLong {
            return scrolled(self.place(of: moved(first, by: height - 1)), by: 0, height: height)
        }
        return bottom.isBefore(last) ? self.place(of: last) : place
    }

    /// Shows a message in the middle.
    func centering(_ id: MessageID, height: Int) -> Place {
        guard let index = bubbles.firstIndex(where: { $0.id == id }) else { return .end }
        let spot = moved(Spot(bubble: index, line: 0), by: height / 2)
        return scrolled(place(of: spot), by: 0, height: height)
    }

    /// Shows a message with a little of what is before it, and what follows as far as there is room.
    func beginning(with id: MessageID, height: Int) -> Place {
        guard let index = bubbles.firstIndex(where: { $0.id == id }) else { return .end }
        let top = moved(Spot(bubble: index, line: 0), by: -min(Self.linesBefore, height / 4))
        return place(of: moved(top, by: height - 1))
    }

    private static let linesBefore = 3

    private var last: Spot? {
        bubbles.isEmpty ? nil : Spot(bubble: bubbles.count - 1, line: lines(of: bubbles.count - 1).count - 1)
    }

    private func spot(of place: Place) -> Spot? {
        guard let last else { return nil }
        guard case .line(let id, let line) = place, let index = bubbles.lastIndex(where: { $0.id == id }) else {
            return last
        }
        return Spot(bubble: index, line: min(line, lines(of: index).count - 1))
    }

    private func place(of spot: Spot) -> Place {
        spot == last ? .end : .line(bubbles[spot.bubble].id, spot.line)
    }

    /// As far as there are lines.
    private func moved(_ spot: Spot, by offset: Int) -> Spot {
        var spot = spot
        var rest = offset
        while rest < 0 {
            if spot.line >= -rest { return Spot(bubble: spot.bubble, line: spot.line + rest) }
            guard spot.bubble > 0 else { return Spot(bubble: 0, line: 0) }
            rest += spot.line + 1
            spot = Spot(bubble: spot.bubble - 1, line: lines(of: spot.bubble - 1).count - 1)
        }
        while rest > 0 {
            let below = lines(of: spot.bubble).count - 1 - spot.line
            if below >= rest { return Spot(bubble: spot.bubble, line: spot.line + rest) }
            guard spot.bubble < bubbles.count - 1 else { return Spot(bubble: spot.bubble, line: spot.line + below) }
            rest -= below + 1
            spot = Spot(bubble: spot.bubble + 1, line: 0)
        }
        return spot
    }

    private func distance(from top: Spot, to bottom: Spot) -> Int {
        guard top.bubble < bottom.bubble else { return bottom.line - top.line }
        return (top.bubble..<bottom.bubble).reduce(bottom.line - top.line) { $0 + lines(of: $1).count }
    }

    // MARK: Lines

    /// What one message takes; at least one line.
    func lines(of index: Int) -> [Line] {
        if let known = cache.lines[index] { return known }
        let made = makeLines(of: index)
        cache.lines[index] = made
        return made
    }

    private func makeLines(of index: Int) -> [Line] {
        let bubble = bubbles[index]
        var lines: [Line] = []
        if let day = bubble.day {
            if index > 0 { lines.append(Line()) }
            lines.append(Line("── \(day) ──", .dim).centered(in: width))
        }
        if case .event(let text) = bubble.content {
            return lines + wrapped(text, width: width - 4).map { marked(Line($0, .dim).centered(in: width), bubble) }
        }
        let isFirstUnread = bubble.id == firstUnread
        if isFirstUnread {
            if index > 0, bubble.day == nil { lines.append(Line()) }
            lines.append(Line("──────── New ────────", .warning).centered(in: width))
        }
        if bubble.startsRun || isFirstUnread {
            if index > 0, bubble.day == nil, !isFirstUnread { lines.append(Line()) }
            lines.append(aligned(head(of: bubble), bubble))
        }
        lines += block(of: bubble, index)
        return lines
    }

    /// Who wrote, and when.
    private func head(of bubble: Bubble) -> Line {
        let time = times.time(bubble.row.message.createdAt)
        if bubble.isOwn { return Line(time, .dim) }
        let sender = bubble.row.message.senderId
        var line = Line(name(sender), Style(color: sender.color, isBold: true))
        line.append("  " + time, .dim)
        return line
    }

    private func block(of bubble: Bubble, _ index: Int) -> [Line] {
        let mostColumns = max(8, min(width - 4, max(24, width * 3 / 4)))
        var lines: [Line] = []
        if let origin = bubble.origin {
            let line = Line(origin, .dim)
            lines.append(line.width <= mostColumns ? line : line.fitted(to: mostColumns))
        }
        if let reference = bubble.reference { lines.append(quote(reference, width: mostColumns)) }
        if bubble.files.isEmpty || bubble.content != .text("") { lines += text(of: bubble, width: mostColumns) }
        lines += bubble.files.map { file(of: $0, bubble, width: mostColumns) }
        if let remarks = remarks(of: bubble) {
            lines.append(remarks.width <= mostColumns ? remarks : remarks.fitted(to: mostColumns))
        }
        let columns = lines.map(\.width).max() ?? 0
        lines = lines.map { marked(aligned($0, bubble, in: columns), bubble) }
        return lines + below(bubble, index).map { $0.fitted(to: min($0.width, width - 1)).trailing(in: width - 1) }
    }

    private func quote(_ reference: ReplyReference, width: Int) -> Line {
        var line = Line("│ ", .dim)
        if let sender = reference.sender { line.append("\(name(sender)): ", Style(color: sender.color, isDim: true)) }
        line.append(reference.preview ?? "…", .dim)
        return line.width <= width ? line : line.fitted(to: width)
    }

    private func text(of bubble: Bubble, width: Int) -> [Line] {
        let style: Style =
            switch bubble.content {
            case .text: bubble.isOwn ? .own : .plain
            default: .dim
            }
        let lines = memory.wrapped(bubble.content.text, width: width)
        guard lines.count > Self.mostLines, !tapped.contains(bubble.id) else { return lines.map { Line($0, style) } }
        let rest = lines.count - Self.mostLines + 1
        return lines.prefix(Self.mostLines - 1).map { Line($0, style) } + [
            Line("… \(rest) more lines (select, Enter)", .dim)
        ]
    }

    /// What kind of file, its name, and what it is like; the name gives way where there is no room for both.
    private func file(of label: FileLabel, _ bubble: Bubble, width: Int) -> Line {
        let details = Line((label.name.isEmpty ? " " : " · ") + label.details, .dim)
        var line = Line(label.kind.mark + ": ", .dim)
        line.append(label.name, bubble.isOwn ? .own : .plain)
        let room = max(4, width - details.width)
        if line.width > room { line = line.fitted(to: room) }
        line.append(details)
        return line.width > width ? line.fitted(to: width) : line
    }

    /// Tapbacks, "Edited" and "Pinned", below the text.
    private func remarks(of bubble: Bubble) -> Line? {
        var parts = bubble.decorations.filter { $0.position != .bottomTrailing }.map(\.text)
        if bubble.isEdited { parts.append(Bubble.editedMark) }
        if bubble.isPinned { parts.append(Bubble.pinnedMark) }
        return parts.isEmpty ? nil : Line(parts.joined(separator: " · "), .dim)
    }

    /// How far an own message got.
    private func below(_ bubble: Bubble, _ index: Int) -> [Line] {
        switch bubble.row.state {
        case .stored:
            return bubble.decorations.filter { $0.position == .bottomTrailing }.map { Line($0.text, .dim) }
        case .failed(let problem):
            // What the application says of it may take several lines.
            return wrapped("Not sent: \(problem.reason)", width: width - 1).map { Line($0, .bad) }
                + [Line("select it: r sends it again, e edits it, x gives it up", .dim)]
        case .sending:
            let isBehind = bubbles[..<index].contains { if case .failed = $0.row.state { true } else { false } }
            if isBehind { return [Line("Waiting for the one above", .dim)] }
            if let upload = uploads[bubble.id] { return [Line(progress(of: upload), .dim)] }
            guard bubble.endsRun else { return [] }
            return [Line(isOnline ? "Sending…" : "Waiting for the server", .dim)]
        }
    }

    private func progress(of upload: UploadProgress) -> String {
        guard isOnline else { return "Waiting for the server" }
        guard upload.sentBytes < upload.totalBytes else { return "Sending…" }
        let (sent, total) = (FileLabel.size(upload.sentBytes), FileLabel.size(upload.totalBytes))
        return "Uploading \(upload.sentBytes * 100 / upload.totalBytes) % (\(sent) of \(total))"
    }

    /// Own messages are at the right.
    private func aligned(_ line: Line, _ bubble: Bubble, in block: Int? = nil) -> Line {
        var result = Line(" ")
        if bubble.isOwn { result.pad(to: width - 1 - (block ?? line.width)) }
        result.append(line)
        return result
    }

    private func marked(_ line: Line, _ bubble: Bubble) -> Line {
        guard bubble.id == selected else { return line }
        return line.fitted(to: width).styled(\.reversed)
    }
}

extension TimelineLayout.Spot {
    func isBefore(_ other: Self) -> Bool { (bubble, line) < (other.bubble, other.line) }
}

extension Attachment.Kind {
    fileprivate var mark: String {
        switch self {
        case .photo: "Photo"
        case .video: "Video"
        case .audio: "Audio"
        case .file: "File"
        }
    }
}

extension UserID {
    /// The colour of a user's name, the same everywhere.
    var color: Style.Color {
        let colors: [Style.Color] = [.first, .second, .third, .fourth]
        return colors[name.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % colors.count]
    }
}
