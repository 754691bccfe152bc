import Bytes
import Foundation
import Models
import Testing
import Wire

@testable import Ingest

/// What an export tells of rows that an import would not take as they are, and what of the time a reader was away.
@Suite struct ExportStoryTests {
    private let conversation = ConversationID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d90")!)
    private let anna = UserID("anna")!
    private let ben = UserID("ben")!
    private let carla = UserID("carla")!
    private let dora = UserID("dora")!

    private func second(_ number: Int64) -> Timestamp { Timestamp(milliseconds: number * 1_000) }

    private func change(_ kind: ChangeKind, _ user: UserID, _ at: Int64, by actor: UserID? = nil) -> ImportRecord {
        .member(ImportRecord.MemberChange(kind, of: user, at: second(at), by: actor ?? anna))
    }

    private func title(_ title: String, _ at: Int64) -> ImportRecord {
        .title(ImportRecord.Title(title, at: second(at), by: anna))
    }

    /// A group that anna began with ben and carla.
    private func story(reader: UserID? = nil, stays: [ClosedRange<Int64>] = []) -> ExportStory {
        let opening = ImportRecord.Conversation(
            kind: .group, createdAt: second(0), title: "Climbing", members: [anna, ben, carla])
        return ExportStory(
            conversation, ExportHead(lastSeq: 100, opening: opening, stays: stays), reader: reader)
    }

    /// The lines as their fields besides the conversation, with seconds and milliseconds for times.
    private func lines(_ story: ExportStory, _ body: (inout ExportStory, inout ByteBuffer) -> Void) -> [String] {
        var story = story, buffer = ByteBuffer()
        story.begin(&buffer)
        body(&story, &buffer)
        story.end(&buffer)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        return text.split(separator: "\n").map { line in
            let object = try! JSONSerialization.jsonObject(with: Data(line.utf8)) as! [String: Any]
            return ["type", "members", "userId", "change", "title", "at", "actorId"].compactMap { key in
                switch object[key] {
                case let names as [String]: names.joined(separator: ",")
                case let text as String: key == "at" ? String(text.dropFirst(17).dropLast()) : text
                default: nil
                }
            }.joined(separator: " ")
        }
    }

    @Test("what an import would take for a repetition is told a millisecond later, and so is all that follows")
    func repetitions() {
        let told = lines(story()) { story, buffer in
            for record in [title("A", 1), title("B", 1), title("A", 1), title("C", 1), title("D", 2)] {
                story.take(record, &buffer)
            }
        }
        #expect(
            told == [
                "conversation anna,ben,carla Climbing", "renamed A 01.000 anna", "renamed B 01.000 anna",
                "renamed A 01.001 anna", "renamed C 01.001 anna", "renamed D 02.000 anna", "end",
            ])
    }

    @Test("who follows the last owner is told with the removal, as an import finds it")
    func nextOwners() {
        let told = lines(story()) { story, buffer in
            story.take(change(.memberRemoved, anna, 1), &buffer)
            story.take(change(.memberChanged, ben, 1), &buffer)
            story.take(change(.memberRemoved, ben, 2, by: ben), &buffer)
        }
        #expect(
            told == [
                "conversation anna,ben,carla Climbing", "member anna removed 01.000 anna",
                "member ben role 01.000 anna", "member ben removed 02.000 ben", "member carla role 02.000 ben", "end",
            ])
    }

    @Test("where an import would find another one, the role goes on before the removal")
    func otherHeir() {
        let told = lines(story()) { story, buffer in
            story.take(change(.memberRemoved, anna, 1), &buffer)
            story.take(change(.memberChanged, carla, 1), &buffer)
        }
        #expect(
            told == [
                "conversation anna,ben,carla Climbing", "member carla role 01.000 anna",
                "member anna removed 01.000 anna", "end",
            ])
    }

    @Test("a late reader learns who was there when they came, and nothing of before")
    func late() {
        let told = lines(story(reader: dora, stays: [5...Int64.max])) { story, buffer in
            story.pass(title("Bouldering", 1))
            story.pass(change(.memberChanged, carla, 2))
            story.pass(change(.memberRemoved, ben, 3))
            story.take(change(.memberAdded, dora, 4, by: carla), &buffer)
        }
        #expect(
            told == [
                "conversation anna,carla Bouldering", "member carla role 04.000 anna", "member dora added 04.000 carla",
                "end",
            ])
    }

    @Test("votes of who came and went while the reader was away are not told, and a poll is closed by one who is there")
    func polls() {
        let poll = MessageID(UUIDBytes("0198c2a4-5d10-7c3e-9a41-3f0c5b7e2d91")!)
        func vote(_ user: UserID) -> ImportRecord {
            .vote(ImportRecord.Vote(message: poll, user: user, options: PollOptions(bits: 1), at: second(3)))
        }
        func closing(_ actor: UserID) -> ImportRecord {
            .pollClosed(ImportRecord.PollClosing(of: poll, at: second(4), by: actor))
        }
        let all = lines(story()) { story, buffer in
            for record in [vote(ben), closing(carla)] { story.take(record, &buffer) }
        }
        #expect(
            all.dropFirst() == ["vote ben 03.000", "pollClosed 04.000 carla", "end"])
        let back = lines(story(reader: carla, stays: [1...2, 9...Int64.max])) { story, buffer in
            story.take(change(.memberRemoved, carla, 1, by: carla), &buffer)
            story.pass(change(.memberAdded, dora, 2))
            story.pass(change(.memberRemoved, dora, 5))
            story.take(change(.memberAdded, carla, 8, by: ben), &buffer)
            for record in [vote(dora), vote(ben), closing(dora), vote(carla), closing(ben)] {
                story.take(record, &buffer)
            }
        }
        #expect(
            back.dropFirst(2) == [
                "member carla added 08.000 ben", "vote ben 08.000", "pollClosed 08.000 anna", "vote carla 08.000",
                "pollClosed 08.000 ben", "end",
            ])
    }

    @Test("a reader who comes back learns what is different, not when and by whom, and not who came and went")
    func back() {
        let told = lines(story(reader: carla, stays: [1...2, 9...Int64.max])) { story, buffer in
            story.take(change(.memberRemoved, carla, 1, by: carla), &buffer)
            story.pass(change(.memberAdded, dora, 2))
            story.pass(change(.memberChanged, dora, 3))
            story.pass(change(.memberRemoved, ben, 4))
            story.pass(change(.memberAdded, ben, 5))
            story.pass(change(.memberRemoved, anna, 6))
            story.pass(title("Bouldering", 7))
            story.take(change(.memberAdded, carla, 8, by: dora), &buffer)
        }
        #expect(
            told == [
                "conversation anna,ben,carla Climbing", "member carla removed 01.000 carla",
                "member dora added 08.000 anna", "member dora role 08.000 anna", "renamed Bouldering 08.000 anna",
                "member anna removed 08.000 anna", "member carla added 08.000 dora", "end",
            ])
    }
}
