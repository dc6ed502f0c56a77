#include "lanista/exec/train/data_parallel_session.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/exec/train/data_parallel_region.h"
#include "lanista/exec/train/data_parallel_rounds.h"

namespace lanista::train {
namespace {

constexpr auto kWakeInterval = std::chrono::milliseconds(5);

}  // namespace

using namespace data_parallel;

static_assert(kMaxRanks == DataParallelLeader::kMaxHelpers + 1);

DataParallelLeader::DataParallelLeader(std::string path) : path_(std::move(path)) {}

DataParallelLeader::~DataParallelLeader() {
  end(false);
  remove_file();
}

bool DataParallelLeader::has_lost_peer() const { return rank_rounds_ && rank_rounds_->has_lost_peer(); }

void DataParallelLeader::remove_file() {
  if (file_location_) file_location_->folder.remove_file(file_location_->name);
  file_location_.reset();
  region_.reset();
}

void DataParallelLeader::end(bool is_complete) {
  if (!rank_rounds_) return;
  const bool failed = !is_complete || rank_rounds_->has_lost_peer();
  if (failed) rank_rounds_->abort_epoch();
  rank_rounds_.reset();
  if (failed) remove_file();
}

Result<program::ShardCommunicator*> DataParallelLeader::begin(const program::Program& program,
                                                              const std::function<Result<std::string>()>& state) {
  LANISTA_CHECK(!rank_rounds_, "the last data-parallel epoch has not ended");
  const std::int64_t most = std::min(program.shards(), kMaxHelpers + 1) - 1;
  if (!region_) {
    // Helpers do not see the file before it is complete.
    LANISTA_ASSIGN(SessionPath location, open_session_folder(path_));
    const std::string fresh = location.name + ".new";
    location.folder.remove_file(fresh);
    LANISTA_ASSIGN(auto made, SharedRegion::create(location.folder, fresh));
    LANISTA_TRY(made->grow(static_cast<std::int64_t>(sizeof(Header))));
    if (!made->lock(0)) return Error{Code::kIo, "shared memory cannot be locked", path_};
    LANISTA_TRY(location.folder.rename_file(fresh, location.name));
    file_location_ = std::make_unique<SessionPath>(std::move(location));
    region_ = std::move(made);
    epoch_ = 0;
    return nullptr;
  }
  EpochTerms terms;
  terms.width = 1;
  for (std::int64_t slot = 1; slot <= kMaxHelpers && terms.width <= most; ++slot) {
    const bool is_ready = region_->header().slots[static_cast<std::size_t>(slot)].status == kSlotReady;
    if (!is_ready || !region_->is_held(slot)) continue;
    terms.slots[static_cast<std::size_t>(terms.width++)] = static_cast<std::uint32_t>(slot);
  }
  if (terms.width == 1) return nullptr;
  LANISTA_ASSIGN(const std::string bytes, state());
  terms.send_buffer_bytes = send_buffer_bytes(program);
  terms.state_bytes = static_cast<std::int64_t>(bytes.size());
  terms.epoch = ++epoch_;
  terms.checksum = terms.compute_checksum();
  LANISTA_TRY(region_->grow(terms.bytes()));
  Header& header = region_->header();
  header.epoch = 0;  // terms that are read now are not used
  header.terms = terms;
  std::memcpy(region_->at(kStateOffset), bytes.data(), bytes.size());
  rank_rounds_ = std::make_unique<RankRounds>(*region_, terms, 0);
  rank_rounds_->clear_stamps();
  for (RankProgress& each : header.rank_progress) each.round.value = 0;
  header.epoch = epoch_;
  header.slots[0].status = joined_status(epoch_);
  std::int64_t taken = 1;
  for (std::int64_t rank = 1; rank < terms.width; ++rank) {
    std::uint32_t ready = kSlotReady;
    ProcessSlot& slot = header.slots[terms.slots[static_cast<std::size_t>(rank)]];
    if (slot.status.compare_exchange_strong(ready, joined_status(epoch_))) ++taken;
  }
  for (ProcessSlot& slot : header.slots) futex_wake_all(slot.status);
  if (taken < terms.width) {  // a helper has left: the others are released
    end(false);
    return nullptr;
  }
  return rank_rounds_.get();
}

DataParallelHelper::DataParallelHelper(std::unique_ptr<SharedRegion> region, std::int64_t slot)
    : region_(std::move(region)), slot_(slot) {}

DataParallelHelper::~DataParallelHelper() {
  if (!rank_rounds_) return;
  rank_rounds_->abort_epoch();
}

Result<std::unique_ptr<DataParallelHelper>> DataParallelHelper::join(const std::string& path) {
  LANISTA_ASSIGN(const SessionPath location, open_session_folder(path));
  LANISTA_ASSIGN(auto region, SharedRegion::open(location.folder, location.name));
  LANISTA_TRY(region->map(static_cast<std::int64_t>(sizeof(Header))));
  if (!region->is_held(0)) return Error{Code::kNotFound, "the session has no leader any more", path};
  for (std::int64_t slot = 1; slot <= DataParallelLeader::kMaxHelpers; ++slot) {
    // The slot of a lost helper stays empty: the leader may be taking it now.
    if (!region->lock(slot)) continue;
    if (region->header().slots[static_cast<std::size_t>(slot)].status == kSlotEmpty) {
      return std::unique_ptr<DataParallelHelper>(new DataParallelHelper(std::move(region), slot));
    }
    region->unlock(slot);
  }
  return Error{Code::kNotFound, "all slots of the session are taken", path};
}

program::ShardCommunicator& DataParallelHelper::peers() { return *rank_rounds_; }
bool DataParallelHelper::has_lost_peer() const { return rank_rounds_ && rank_rounds_->has_lost_peer(); }

Result<std::optional<std::string>> DataParallelHelper::wait(const program::Program& program,
                                                            const std::function<bool()>& should_stop) {
  rank_rounds_.reset();
  SharedWord& word = region_->header().slots[static_cast<std::size_t>(slot_)].status;
  word = kSlotReady;
  std::uint32_t status = kSlotReady;
  while ((status = word.load()) == kSlotReady) {
    futex_wait(word, kSlotReady, kWakeInterval);
    if (!should_stop() && region_->is_held(0)) continue;
    std::uint32_t ready = kSlotReady;
    if (word.compare_exchange_strong(ready, kSlotEmpty)) return std::optional<std::string>();
  }
  // One copy of each number is checked and used. The leader may have begun an epoch without this slot meanwhile.
  const std::uint32_t epoch = status - kSlotReady;
  const auto is_past = [&] { return region_->header().epoch.load() != epoch; };
  if (epoch == 0 || is_past()) return std::optional<std::string>();
  const EpochTerms terms = region_->header().terms;
  if (is_past()) return std::optional<std::string>();
  LANISTA_ASSIGN(const std::int64_t rank, check_terms(terms, program, slot_, epoch));
  LANISTA_TRY(region_->map(terms.bytes()));
  std::string state(reinterpret_cast<const char*>(region_->at(kStateOffset)),
                    static_cast<std::size_t>(terms.state_bytes));
  if (is_past()) return std::optional<std::string>();
  rank_rounds_ = std::make_unique<RankRounds>(*region_, terms, rank);
  return std::optional<std::string>(std::move(state));
}

}  // namespace lanista::train
